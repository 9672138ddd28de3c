// A Worker that has no files and no Node.js, only a fetch handler. Run `npx wrangler dev examples/clock.ts`, or in this folder
// `npx endpoints --app examples/clock.ts --interface fetch`. Then run `curl -N localhost:8000/ticks/3`.
import { Application, type Args, accepts, Controller, noHttpCache, p } from '@trestle/endpoints'

/** `/`: answers the time, as JSON or as a page. */
export class Default extends Controller {
  static override use = [noHttpCache()]

  GET() {
    const now = new Date().toISOString()
    if (this.request.accepts('application/json', 'text/html') !== 'text/html') return { now }
    this.response.type = 'text/html'
    return `<!doctype html><title>Clock</title><time>${now}</time>`
  }
}

/** `/ticks/3`: sends this number of server-sent events. The stream ends when the client disconnects. */
export class Ticks extends Controller {
  static GET = accepts({ path: [p.int({ min: 1, max: 3_600 }).default(10)], type: 'text/event-stream' })
  async *GET(...[count]: Args<typeof Ticks.GET>) {
    for (let id = 1; id <= count && !this.request.signal.aborted; id += 1) {
      yield { id, event: 'tick', data: new Date().toISOString() }
      if (id < count) await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}

/** `/robots.txt`: `_txt` in a class name becomes an extension in the URL, and sets the media type. */
export class Robots_txt extends Controller {
  GET() {
    return 'User-agent: *\nAllow: /\n'
  }
}

export default new Application({ modules: { index: { Default, Ticks, Robots_txt } } })
