import { docsController } from '@trestle/endpoints'

/** `/docs` and `/docs/openapi.json` */
export const Default = docsController()
