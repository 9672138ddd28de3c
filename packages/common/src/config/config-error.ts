/** Everything that is wrong with the settings, one line each, without secret values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** What to do about the problems, where that is the same for all. */
  readonly advice: string | undefined

  constructor(problems: readonly string[], advice?: string) {
    super(problems.map((problem) => `config: ${problem}`).join('\n'))
    this.problems = problems
    this.advice = advice
  }
}
