/** The path of the first place where two JSON values differ, as `paths./users.get`; undefined when they are equal. */
export function firstDifference(left: unknown, right: unknown, path: readonly string[] = []): string | undefined {
  if (Object.is(left, right)) return undefined
  if (!isObject(left) || !isObject(right) || Array.isArray(left) !== Array.isArray(right)) {
    return path.join('.') || 'its root'
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const difference = firstDifference(left[key], right[key], [...path, key])
    if (difference !== undefined) return difference
  }
  return undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
