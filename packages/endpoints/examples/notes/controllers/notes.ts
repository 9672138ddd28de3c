import { type Args, accepts, Controller, NotFound, p } from '@trestle/endpoints'
import { z } from 'zod'
import { type Context, Note } from '../note.ts'

const Text = z.string().trim().min(1).max(1_000)

/** `/notes` and `/notes/7` */
export class Default extends Controller<Context> {
  static GET = accepts({
    path: [p.int({ min: 1 }).optional()],
    keywords: z.object({ limit: p.int({ min: 1, max: 100 }).default(20) }),
    returns: z.union([Note, z.array(Note)]),
    summary: 'One note, or the newest',
  })
  GET(...[id, { limit }]: Args<typeof Default.GET>) {
    if (id !== undefined) return this.#find(id)
    return [...this.#notes.values()].reverse().slice(0, limit)
  }

  static POST = accepts({ keywords: z.object({ text: Text }), returns: Note, status: 201, summary: 'Write a note' })
  POST(...[{ text }]: Args<typeof Default.POST>) {
    const id = Math.max(0, ...this.#notes.keys()) + 1
    const note: Note = { id, text, made: this.application.context.now().toISOString() }
    this.#notes.set(id, note)
    this.response.headers.set('location', this.request.url.module(id).pathname)
    return note
  }

  static PUT = accepts({ path: [p.int()], keywords: z.object({ text: Text }), returns: Note, summary: 'Change a note' })
  PUT(...[id, { text }]: Args<typeof Default.PUT>) {
    const note = { ...this.#find(id), text }
    this.#notes.set(id, note)
    return note
  }

  static DELETE = accepts({ path: [p.int()], summary: 'Throw a note away' })
  DELETE(...[id]: Args<typeof Default.DELETE>) {
    this.#find(id)
    this.#notes.delete(id)
  }

  /** `/notes/count`: the suffix of a method is another part of the URL. */
  GET_count() {
    return this.#notes.size
  }

  get #notes(): Map<number, Note> {
    return this.application.context.notes
  }

  #find(id: number): Note {
    const note = this.#notes.get(id)
    if (note === undefined) throw new NotFound(`There is no note ${id}`)
    return note
  }
}
