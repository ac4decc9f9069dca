"""Forecasts: what a release will lose and cost, from public knowledge alone, before any data is opened."""
