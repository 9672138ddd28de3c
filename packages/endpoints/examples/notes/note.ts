import { z } from 'zod'

/** A named schema: the OpenAPI document refers to it. */
export const Note = z.object({ id: z.int(), text: z.string(), made: z.iso.datetime() }).meta({ id: 'Note' })

/** A note, as the API takes and returns it. */
export type Note = z.output<typeof Note>

/** The members of `this.application.context`. */
export interface Context {
  /** The notes by id. A real program would hold a database. */
  readonly notes: Map<number, Note>
  readonly now: () => Date
}
