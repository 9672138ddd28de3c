import type { Environment } from '../settings/environment.ts'

/** The checkout, the settings of the user and the output, for every command of the stack. */
export interface CommandContext {
  /** The checkout. */
  readonly root: string
  /** A text in the command line of a running stack. */
  readonly program: string
  /** The settings of the user. */
  readonly env: Environment
  /** Prints a line for the user. */
  readonly say: (line: string) => void
}
