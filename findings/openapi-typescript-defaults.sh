#!/usr/bin/env bash
# A member of a request body that has a `default` may be left out: the schema does not require it. openapi-typescript makes it
# required for the sender too, so a client that relies on the default does not compile. `--default-non-nullable false` is the way
# out. It matters where a document has defaults, such as the quantity of an order.
set -euo pipefail
for tool in node npm; do command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 2; }; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund openapi-typescript@7.13.0 typescript@5.9.3 >/dev/null || { echo 'no download'; exit 2; }
cat > document.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": { "title": "Shop", "version": "1" },
  "paths": {
    "/orders": {
      "post": {
        "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Order" } } } },
        "responses": { "204": { "description": "Ordered" } }
      }
    }
  },
  "components": {
    "schemas": {
      "Order": {
        "type": "object",
        "required": ["sku"],
        "properties": { "sku": { "type": "string" }, "quantity": { "type": "integer", "default": 1 } }
      }
    }
  }
}
JSON
cat > order.ts <<'TS'
import type { components } from './shop'
export const order: components['schemas']['Order'] = { sku: 'CUP' }
TS
compiles() {
  npx openapi-typescript document.json -o shop.d.ts "$@" >/dev/null 2>&1
  npx tsc --noEmit --strict order.ts
}
plain=$(compiles || true)
option=$(compiles --default-non-nullable false || true)
echo "openapi-typescript 7.13.0, typescript 5.9.3"
echo "by default: ${plain:-compiles}"
echo "with --default-non-nullable false: ${option:-compiles}"
[[ "$plain" == *"Property 'quantity' is missing"* ]] || { echo 'the default has changed'; exit 1; }
[ -z "$option" ] || { echo 'the option has changed'; exit 1; }
