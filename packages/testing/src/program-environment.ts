import { join } from 'node:path'

/**
 * What a program of the repository is given in tests besides its settings: it starts in half the time when it need not compile
 * what an earlier one has compiled.
 */
export const programEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'trestle', 'programs'),
} as const
