"""Fine-tuning of encoders on labelled rows: settings, the best epoch, predictions and metrics."""
