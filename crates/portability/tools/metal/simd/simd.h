// Stand-in for Metal's header of this name: naga includes it, and no kernel uses anything of it.
