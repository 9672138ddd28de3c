import { accepts } from '@trestle/endpoints/endpoints.ts'
import { notReady } from '../errors.ts'
import { OpenController } from '../plugins/inventory-controller.ts'

/** /ready */
export class Default extends OpenController {
  static GET = accepts({ hidden: true })
  async GET() {
    const missing = await this.application.context.readiness.missing()
    if (missing !== undefined) throw notReady({ reason: missing })
    return { status: 'ready' }
  }
}
