import type { z } from 'zod'

/**
 * Judges values by the schema of the request that has the same effect.
 * @param names the argument or option of each member
 * @throws Error naming the argument or option of the first member that the schema refuses
 */
export function readValues<Schema extends z.ZodType>(
  schema: Schema,
  values: object,
  names: Readonly<Record<string, string>>,
): z.output<Schema> {
  const read = schema.safeParse(values)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const member = String(issue?.path[0] ?? '')
  throw new Error(`${names[member] ?? member}: ${issue?.message ?? 'is not valid'}`)
}
