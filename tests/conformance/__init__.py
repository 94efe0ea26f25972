"""Every rule of the contract has a test."""
