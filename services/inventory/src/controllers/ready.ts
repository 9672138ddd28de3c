import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import { accepts } from '@trestle/endpoints/endpoints.ts'
import { notReady } from '../errors.ts'
import { OpenController } from '../plugins/inventory-controller.ts'

/** /ready: whether the process should get requests. */
export class Default extends OpenController {
  static GET = accepts({ hidden: true })
  async GET() {
    return answerReady(this.application.context.readiness, notReady)
  }
}
