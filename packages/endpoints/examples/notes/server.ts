// Serves notes over `node:http`. Run `node examples/notes/server.ts`, then `curl localhost:3000/notes -d text=milk`.
import { createServer } from 'node:http'
import { Application } from '@trestle/endpoints'
import type { Context } from './note.ts'

const context: Context = { notes: new Map(), now: () => new Date() }

/** The application of this example, which its test and the program below use. */
export const app = new Application({
  controllerPrefix: new URL('./controllers', import.meta.url),
  context,
})

if (import.meta.main) {
  await app.ready()
  createServer(app.listener).listen(3000, () => console.log('http://localhost:3000'))
}
