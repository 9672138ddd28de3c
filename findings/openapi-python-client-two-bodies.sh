#!/usr/bin/env bash
# An operation that takes its body as JSON or as a form, such as one of a payment API, is an ordinary one. Where nothing of such
# an operation is optional, openapi-python-client writes a module that uses the name `Unset` without an import of it. The
# generator reports success, and the module compiles. Its import fails on each Python that reads annotations at once, which is
# every one before 3.14. An optional parameter, or one media type, is the way out.
set -euo pipefail
command -v python3 >/dev/null || { echo 'python3 is missing'; exit 2; }
python3 -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null ||
  { echo 'Python 3.11 to 3.13 with venv is missing'; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openapi-python-client==0.29.1 2>/dev/null ||
  { echo 'no download'; exit 2; }
cat > document.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": { "title": "Shop", "version": "1" },
  "paths": {
    "/strict": {
      "post": {
        "operationId": "orderStrictly",
        "requestBody": {
          "required": true,
          "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/Order" } },
            "application/x-www-form-urlencoded": { "schema": { "$ref": "#/components/schemas/OrderForm" } }
          }
        },
        "responses": { "204": { "description": "Ordered" } }
      }
    },
    "/loose": {
      "post": {
        "operationId": "orderLoosely",
        "parameters": [{ "name": "note", "in": "query", "schema": { "type": "string" } }],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/Order" } },
            "application/x-www-form-urlencoded": { "schema": { "$ref": "#/components/schemas/OrderForm" } }
          }
        },
        "responses": { "204": { "description": "Ordered" } }
      }
    }
  },
  "components": {
    "schemas": {
      "Order": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string" } } },
      "OrderForm": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string" } } }
    }
  }
}
JSON
printf 'post_hooks: []\n' > config.yaml
venv/bin/openapi-python-client generate --config config.yaml --meta none --path document.json --output-path shop >/dev/null ||
  { echo 'the generator fails'; exit 1; }
venv/bin/python -m compileall -q shop || { echo 'the client does not compile'; exit 1; }
importing() {
  venv/bin/python -c "import shop.api.default.$1" 2>&1 | tail -1
}
strict=$(importing order_strictly) || true
loose=$(importing order_loosely) || true
python3 --version
echo 'openapi-python-client 0.29.1'
echo "two media types, nothing optional: ${strict:-imported}"
echo "two media types, an optional parameter: ${loose:-imported}"
[[ $strict == "NameError: name 'Unset' is not defined"* && -z $loose ]]
