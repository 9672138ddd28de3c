import { accepts } from '../binding/accepts.ts'
import { Controller } from '../controller.ts'
import type { ControllerClass } from '../routing/table.ts'
import { docsPage, docsPolicy } from './docs-page.ts'

/**
 * A controller that shows the API: `export const Docs = docsController()` answers `/docs` with a page and
 * `/docs/openapi.json` with the document. Neither is part of the document.
 */
export function docsController(): ControllerClass {
  return class Docs extends Controller {
    static Openapi_json = class extends Controller {
      static GET = accepts({ hidden: true })
      GET() {
        return this.application.openapi()
      }
    }

    static GET = accepts({ hidden: true, type: 'text/html' })
    GET() {
      const nonce = crypto.randomUUID()
      this.response.headers.set('content-security-policy', docsPolicy(nonce))
      return docsPage(this.request.url.controller('openapi.json').pathname, nonce)
    }
  }
}
