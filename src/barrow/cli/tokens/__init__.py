"""`barrow tokens`: tokenizers, plans of batches, image-text pairs, and the lineage of a step."""
