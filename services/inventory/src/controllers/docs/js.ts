import { accepts } from '@trestle/endpoints/endpoints.ts'
import { OpenController } from '../../plugins/inventory-controller.ts'

/** /docs/js/scalar.js: the script of the page at /docs. */
export class Scalar_js extends OpenController {
  static GET = accepts({ hidden: true })
  GET() {
    return this.sendDocument('script')
  }
}
