import { z } from 'zod'

/** The schema of `{ statusCode, data: […] }`, for documents; bodies are written by `listBody`. */
export function listEnvelope<T extends z.ZodType>(record: T) {
  return z.object({ statusCode: z.literal(200), data: z.array(record) })
}

/** The schema of `{ statusCode, data: {…} }`. */
export function recordEnvelope<T extends z.ZodType, const Status extends number>(record: T, status: Status) {
  return z.object({ statusCode: z.literal(status), data: record })
}

/** The body of a list, from records that are JSON text already. */
export function listBody(records: readonly string[]): string {
  return `{"statusCode":200,"data":[${records.join(',')}]}`
}

/** The body of one record, from its JSON text. */
export function recordBody(statusCode: number, record: string): string {
  return `{"statusCode":${statusCode},"data":${record}}`
}

/**
 * A response schema for the document alone: the route sends the JSON as text, which Fastify passes on as it is. So no number
 * of an attribute becomes a JavaScript number on its way out.
 */
export function written(schema: z.ZodType): z.ZodType<string, string> {
  // Only the type of the reply is changed; the schema is never run.
  return schema as unknown as z.ZodType<string, string>
}
