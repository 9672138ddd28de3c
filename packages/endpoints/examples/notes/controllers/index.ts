import { Controller } from '@trestle/endpoints'

/** `/` */
export class Default extends Controller {
  GET() {
    return { notes: this.request.url.module('notes').href, docs: this.request.url.module('docs').href }
  }
}
