import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { OpenController } from '../../plugins/inventory-controller.ts'

/** The version of the library in the script's URL. */
const ScriptRelease = z.object({ v: z.string().optional() })

/** The script of the page at /docs. */
export class Scalar_js extends OpenController {
  static GET = accepts({ keywords: ScriptRelease, hidden: true })
  GET() {
    return this.sendDocument('script')
  }
}
