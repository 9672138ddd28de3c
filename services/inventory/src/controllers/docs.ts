import { accepts } from '@trestle/endpoints/endpoints.ts'
import { OpenController } from '../plugins/inventory-controller.ts'

/** /docs: the page on which people read the API document. */
export class Default extends OpenController {
  static GET = accepts({ hidden: true })
  GET() {
    return this.sendDocument('page')
  }
}
