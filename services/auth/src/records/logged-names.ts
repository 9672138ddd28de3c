/** How many names a line of the log has, and how long each may be. */
const NAMES_MAX = 10
const NAME_LENGTH_MAX = 60

/** Names of members, as a line of the log has them: how many there are, and the first ones. */
export interface LoggedNames {
  readonly count: number
  readonly names: readonly string[]
}

/**
 * Returns what the log says of names that a user or a provider has chosen: they may be many and long, and each token
 * of the user may write a line.
 */
export function toLoggedNames(names: readonly string[]): LoggedNames {
  const first = names.slice(0, NAMES_MAX)
  return { count: names.length, names: first.map((name) => name.slice(0, NAME_LENGTH_MAX).toWellFormed()) }
}
