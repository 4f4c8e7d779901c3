"""How sure a measured quality is: bootstrap, DeLong's variance of an area, Wilson's interval."""
