/** Why the stack cannot start or continue, for the user at the terminal: one line per problem, no stack trace. */
export class StackFailure extends Error {
  readonly problems: readonly string[]

  /** @param problems one sentence each, with advice if possible */
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.name = 'StackFailure'
    this.problems = problems
  }
}
