import { accepts } from '@trestle/endpoints/endpoints.ts'
import { OpenController } from '../plugins/inventory-controller.ts'

export class Default extends OpenController {
  static GET = accepts({
    type: 'text/html',
    status: 200,
    responses: {
      301: 'The page is at /docs/',
      304: 'Not changed since the version that If-None-Match names',
      404: 'The documents are switched off',
    },
    summary: 'Show this document in a browser',
    tags: ['service'],
  })
  GET() {
    return this.sendDocument('page')
  }
}
