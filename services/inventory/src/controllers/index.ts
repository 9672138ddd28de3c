import { DOCS_PATH } from '@trestle/common/documents/document-pages.ts'
import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { OpenController } from '../plugins/inventory-controller.ts'
import { VERSION } from '../version.ts'

const Service = z.object({ name: z.string(), version: z.string(), docs: z.string() })

/** /: the name and version of the service. */
export class Default extends OpenController {
  static GET = accepts({ returns: Service, summary: 'Name and version of this service', tags: ['service'] })
  GET(): z.output<typeof Service> {
    return { name: 'inventory', version: VERSION, docs: DOCS_PATH }
  }
}

/** /openapi.json: the document that describes this API. */
export class Openapi_json extends OpenController {
  static GET = accepts({ hidden: true })
  GET() {
    return this.sendDocument('document')
  }
}
