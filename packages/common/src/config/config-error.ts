/** Everything that is wrong with the settings, one line each, without secret values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** The advice about the problems, where one advice fits all. */
  readonly advice: string | undefined

  constructor(problems: readonly string[], advice?: string) {
    super(problems.map((problem) => `config: ${problem}`).join('\n'))
    this.problems = problems
    this.advice = advice
  }
}
