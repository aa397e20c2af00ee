"""Which sample comes when: a pure function of (seed, step), for any mixture and schedule."""
