/** A JSON value whose numbers are no matter here. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** What a merge patch makes of a value: the model of the function `merge_patch`. @see RFC 7396, section 2 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
