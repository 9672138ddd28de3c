// Prints the page. This script shows the button, because the button does not work without the script.
const button = document.querySelector('#print')
button.hidden = false
button.addEventListener('click', () => window.print())
