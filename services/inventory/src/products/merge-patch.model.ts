/** A JSON value. The exact digits of numbers do not matter in the model. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Applies a merge patch (RFC 7396, section 2): the model of the SQL function `merge_patch`. */
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
