import { z } from 'zod'

/** A named schema. The OpenAPI document refers to it by name. */
export const Note = z.object({ id: z.int(), text: z.string(), made: z.iso.datetime() }).meta({ id: 'Note' })

export type Note = z.output<typeof Note>

export interface Context {
  /** The notes by id. A real program would use a database. */
  readonly notes: Map<number, Note>
  readonly now: () => Date
}
