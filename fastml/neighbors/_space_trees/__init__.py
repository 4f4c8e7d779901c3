"""KDTree and BallTree."""
