import { core, type ZodType, z } from 'zod'

/** The object schema inside a schema, such as the object of `z.object({…}).transform(…)`, or `undefined` if there is none. */
export function objectOf(schema: unknown): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema
  if (schema instanceof z.ZodPipe) return objectOf(schema.def.in)
  const inner = innerOf(schema)
  return inner === undefined ? undefined : objectOf(inner)
}

/** Returns the schema inside an `optional`, `default`, `catch` or similar schema. Zod names it `innerType` in all of them. */
function innerOf(schema: unknown): core.$ZodType | undefined {
  const inner = schema instanceof z.ZodType && 'innerType' in schema.def ? schema.def.innerType : undefined
  return inner instanceof core.$ZodType ? inner : undefined
}

/** Returns the keys that any part of an object schema names, or `undefined` if the schema also accepts other keys. */
export function knownNames(schema: unknown): ReadonlySet<string> | undefined {
  if (schema instanceof z.ZodObject)
    return schema.def.catchall === undefined ? new Set(Object.keys(schema.shape)) : undefined
  if (schema instanceof z.ZodPipe) return knownNames(schema.def.in)
  if (schema instanceof z.ZodUnion) return allNames(schema.def.options)
  if (schema instanceof z.ZodIntersection) return allNames([schema.def.left, schema.def.right])
  const inner = innerOf(schema)
  return inner === undefined ? undefined : knownNames(inner)
}

function allNames(parts: readonly unknown[]): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  for (const part of parts) {
    const known = knownNames(part)
    if (known === undefined) return undefined
    for (const name of known) names.add(name)
  }
  return names
}

/**
 * Makes the objects of a schema refuse unknown keys, which Zod would otherwise drop. The objects of a union are closed one by
 * one. Objects behind a `z.preprocess` are closed after its function, which may rename keys. An intersection is closed as a
 * whole, because each side names only a part of the keys.
 */
export function closed(schema: ZodType): ZodType {
  if (schema instanceof z.ZodObject) return schema.def.catchall === undefined ? schema.strict() : schema
  const inner = innerOf(schema)
  if (inner !== undefined) return core.clone(schema, Object.assign({}, schema.def, { innerType: closedPart(inner) }))
  if (schema instanceof z.ZodLazy) {
    return core.clone(schema, { ...schema.def, getter: () => closedPart(schema.def.getter()) })
  }
  if (schema instanceof z.ZodUnion) {
    return schema.clone({ ...schema.def, options: schema.def.options.map(closedPart) })
  }
  if (schema instanceof z.ZodPipe) {
    const side = takesAnything(schema.def.in) ? 'out' : 'in'
    return schema.clone({ ...schema.def, [side]: closedPart(schema.def[side]) })
  }
  const names = schema instanceof z.ZodIntersection ? knownNames(schema) : undefined
  return names === undefined ? schema : refuseOthers(names).pipe(schema)
}

/** Returns whether a schema names no keys. In this case the other side of its pipe is closed. */
function takesAnything(schema: unknown): boolean {
  return [z.ZodTransform, z.ZodUnknown, z.ZodAny].some((open) => schema instanceof open)
}

function closedPart(part: core.$ZodType): core.$ZodType {
  return part instanceof z.ZodType ? closed(part) : part
}

/** Returns a schema that accepts any value except an object with other keys. */
function refuseOthers(names: ReadonlySet<string>): ZodType {
  return z.unknown().superRefine((value, context) => {
    const keys = Object.keys(value ?? {}).filter((name) => !names.has(name))
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys })
  })
}
