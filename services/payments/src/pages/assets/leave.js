// Follows the link of the page. `replace` keeps this page out of the history, so that Back does not lead here again.
window.location.replace(document.querySelector('#leave').href)
