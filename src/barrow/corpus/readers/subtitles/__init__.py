"""Subtitles and transcripts: SRT, WebVTT and the formats of OpenSubtitles and YouTube."""
