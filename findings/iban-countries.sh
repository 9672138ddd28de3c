#!/usr/bin/env bash
# Nine countries and more have joined the IBAN registry since the npm library `iban` last learnt of one. It refuses their accounts, right
# structure and check digits included. `ibantools`, schwifty and python-stdnum take them. It matters where merchants outside of
# Europe give the account for their payouts.
set -euo pipefail
for tool in node npm python3; do command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 2; }; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund iban@0.0.14 ibantools@4.5.1 >/dev/null || { echo 'no download'; exit 2; }
{ python3 -m venv python && python/bin/pip install --quiet schwifty==2025.9.0 python-stdnum==2.1; } >/dev/null 2>&1 || { echo 'no download'; exit 2; }

cat > accounts.json <<'JSON'
[
  "BI4210000100010000332045181", "DJ2100010000000154000100186", "RU0304452522540817810538091310419",
  "SO211000001001000100141", "NI45BAPR00000013000003558124", "MN121234123456789123", "FK88SC123456789012",
  "OM810180000001299123456", "HN88CABF00000000000250005469"
]
JSON
script=$(node -e "
const { isValid } = require('iban')
const { isValidIBAN } = require('ibantools')
const accounts = require('./accounts.json')
console.log(accounts.filter(isValid).length, accounts.filter((account) => isValidIBAN(account)).length)
")
python=$(python/bin/python - <<'PYTHON'
import json
import schwifty
from stdnum import iban
accounts = json.load(open('accounts.json'))
print(sum(schwifty.IBAN(text, allow_invalid=True).is_valid for text in accounts), sum(iban.is_valid(text) for text in accounts))
PYTHON
)
echo "of nine accounts in BI, DJ, RU, SO, NI, MN, FK, OM and HN, by the registry's structures:"
echo "iban 0.0.14, ibantools 4.5.1 take:             $script"
echo "schwifty 2025.9.0, python-stdnum 2.1 take:     $python"
[ "$script" = '0 9' ] && [ "$python" = '9 9' ] || { echo 'it has changed'; exit 1; }
