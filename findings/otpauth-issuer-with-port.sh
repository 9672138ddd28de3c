#!/usr/bin/env bash
# otpauth://totp/localhost%3A3000:alice names the issuer `localhost:3000`, and the account `alice` behind the first unescaped
# colon. One library splits at the escaped colon and shows the account `3000:alice`, another refuses the address. A service
# whose issuer is a host with a port should leave the port out.
set -euo pipefail
for tool in node npm python3; do command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 2; }; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund otpauth@9.5.2 >/dev/null || { echo 'no download'; exit 2; }
{ python3 -m venv python && python/bin/pip install --quiet pyotp==2.9.0; } >/dev/null 2>&1 || { echo 'no download'; exit 2; }

export ADDRESS='otpauth://totp/localhost%3A3000:alice?secret=JBSWY3DPEHPK3PXP&issuer=localhost%3A3000'
script=$(node -e "const { URI } = require('otpauth'); const { issuer, label } = URI.parse(process.env.ADDRESS); console.log(issuer, label)")
python=$(python/bin/python - <<'PYTHON'
import os, pyotp
try:
    totp = pyotp.parse_uri(os.environ['ADDRESS'])
    print(totp.issuer, totp.name)
except ValueError as error:
    print(error)
PYTHON
)
echo "otpauth 9.5.2 (npm):  $script"
echo "pyotp 2.9.0 (PyPI):   $python"
[ "$script" = 'localhost:3000 3000:alice' ] || { echo 'otpauth has changed'; exit 1; }
[ "$python" = 'If issuer is specified in both label and parameters, it should be equal.' ] || { echo 'pyotp has changed'; exit 1; }
