/** Why the stack cannot start or go on. The message is for the user at the terminal: one line for each problem, no stack. */
export class StackFailure extends Error {
  readonly problems: readonly string[]

  /** @param problems one sentence each, with advice where it is known */
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.name = 'StackFailure'
    this.problems = problems
  }
}
