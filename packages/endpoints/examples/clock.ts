// A Worker: no files, no Node.js, just a fetch handler. `npx wrangler dev examples/clock.ts`, or here
// `npx endpoints --app examples/clock.ts --interface fetch`; then `curl -N localhost:8000/ticks/3`.
import { Application, type Args, accepts, Controller, noHttpCache, p } from '@trestle/endpoints'

/** `/`: the time, as JSON or as a page. */
export class Default extends Controller {
  static override use = [noHttpCache()]

  GET() {
    const now = new Date().toISOString()
    if (this.request.accepts('application/json', 'text/html') !== 'text/html') return { now }
    this.response.type = 'text/html'
    return `<!doctype html><title>Clock</title><time>${now}</time>`
  }
}

/** `/ticks/3`: that many server-sent events. The stream ends when the client goes away. */
export class Ticks extends Controller {
  static GET = accepts({ path: [p.int({ min: 1, max: 3_600 }).default(10)], type: 'text/event-stream' })
  async *GET(...[count]: Args<typeof Ticks.GET>) {
    for (let id = 1; id <= count && !this.request.signal.aborted; id += 1) {
      yield { id, event: 'tick', data: new Date().toISOString() }
      if (id < count) await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}

/** `/robots.txt`: an extension in a name is one in the URL, and a media type. */
export class Robots_txt extends Controller {
  GET() {
    return 'User-agent: *\nAllow: /\n'
  }
}

export default new Application({ modules: { index: { Default, Ticks, Robots_txt } } })
