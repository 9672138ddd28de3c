// A Worker: no files, no Node.js, just a fetch handler. `npx wrangler dev examples/clock/worker.ts`, or here
// `npx endpoints --app examples/clock/worker.ts --interface fetch`; then `curl -N localhost:8000/ticks/3`.
import { Application } from '@trestle/endpoints'
import * as clock from './clock.ts'

export default new Application({ modules: { index: clock } })
