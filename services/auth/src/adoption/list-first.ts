/** How many names a line of a command has. */
export const NAMED_MAX = 5

/**
 * Writes the first names of a list, and how many more there are: `a, b, c, d, e and 3 more`.
 * @param count of all, where `names` are only the first ones
 */
export function listFirst(names: readonly string[], count: number = names.length): string {
  const more = count > NAMED_MAX ? ` and ${count - NAMED_MAX} more` : ''
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`
}
