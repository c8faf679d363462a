"""The side-by-side benchmark: ArkSim 0.3.8 and we, the same project, the same mock server. Standard library only."""
