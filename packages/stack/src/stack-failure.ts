/** Why the stack cannot start or go on. The message is for the person at the terminal: one line a problem, no stack. */
export class StackFailure extends Error {
  readonly problems: readonly string[]

  /** @param problems one sentence each, with what to do about it where that is known. */
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.name = 'StackFailure'
    this.problems = problems
  }
}
