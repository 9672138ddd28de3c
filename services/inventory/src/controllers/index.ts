import { DOCS_PATH } from '@trestle/common/documents/document-pages.ts'
import { renderServicePage } from '@trestle/common/documents/front-page.ts'
import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { OpenController } from '../plugins/inventory-controller.ts'
import { VERSION } from '../version.ts'

const Service = z.object({
  name: z.literal('inventory').meta({ description: 'The name of the service' }),
  version: z.string().meta({ description: 'Its version', examples: ['1.4.0'] }),
  docs: z.literal(DOCS_PATH).meta({ description: 'The path of this document as a page' }),
})

const frontPage = renderServicePage({
  title: 'Trestle inventory',
  about: 'Products with free-form attributes, and stock that cannot be oversold.',
  readme: 'services/inventory/README.md',
})

/** Shows the name and version of the service, or to a browser a page with links. */
export class Default extends OpenController {
  static GET = accepts({
    returns: Service,
    types: ['text/html'],
    summary: 'Show name and version of the service',
    tags: ['service'],
  })
  GET(): z.output<typeof Service> | undefined {
    if (this.sendsFrontPage(frontPage)) return undefined
    return { name: 'inventory', version: VERSION, docs: DOCS_PATH }
  }
}

export class Openapi_json extends OpenController {
  static GET = accepts({
    returns: z.looseObject({ openapi: z.literal('3.1.0') }),
    responses: { 304: 'Not changed since the version that If-None-Match names', 404: 'The documents are switched off' },
    summary: 'Get this document',
    tags: ['service'],
  })
  GET() {
    return this.sendDocument('document')
  }
}
