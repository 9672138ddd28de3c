import type { Environment } from '../settings/environment.ts'

/** The checkout, the user's settings and the output, for every command of the stack. */
export interface CommandContext {
  readonly root: string
  /** A text that occurs in the command line of a running stack. */
  readonly program: string
  readonly env: Environment
  readonly say: (line: string) => void
}
