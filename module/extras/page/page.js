// What both halves of the page need of the document.

export const byId = (id) => document.getElementById(id);

/** The value of the radio button that is on. */
export const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;

export const choose = (name, value) => {
  document.querySelector(`input[name=${name}][value="${value}"]`).checked = true;
};
