/** Everything that is wrong with the settings, one line each, without secret values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `config: ${problem}`).join('\n'))
    this.problems = problems
  }
}
