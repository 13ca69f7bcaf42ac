;;; hunch-drawing.el --- Rendering of contexts of the hunchd daemon -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Splits a bundle into its entries and inserts them into the current buffer.  Sends no requests and knows no windows.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface hunch-place '((t :inherit bold)) "The file the context is of." :group 'hunch)
(defface hunch-section '((t :inherit font-lock-keyword-face)) "A tier's title."
  :group 'hunch)
(defface hunch-file '((t :inherit link :underline nil)) "A file." :group 'hunch)
(defface hunch-decision '((t :inherit font-lock-constant-face)) "The sign of a decision or a fact." :group 'hunch)
(defface hunch-error '((t :inherit error)) "Face of the sign of an error or a contradiction." :group 'hunch)
(defface hunch-past '((t :inherit font-lock-type-face)) "The sign of past work." :group 'hunch)
(defface hunch-reason '((t :inherit shadow)) "Why something is there." :group 'hunch)
(defface hunch-code '((t :inherit font-lock-function-name-face)) "A signature." :group 'hunch)
(defface hunch-note '((t :inherit warning)) "What is broken or still loading." :group 'hunch)

(defconst hunch--tiers ["Now" "Likely next" "Background" "Ask for more"])
(defconst hunch--signs
  '(("error" "✗" hunch-error) ("contradiction" "≠" hunch-error) ("decision" "◆" hunch-decision)
    ("fact" "◆" hunch-decision) ("episode" "○" hunch-past) ("file" "›" hunch-file)))

(defvar hunch--shown-file nil)
(defvar hunch--verdicts nil
  "((ID . OUTCOME)…): what was said in this session.")

;; Parsing a bundle

(defun hunch--unquoted (text)
  "Return TEXT without the marks that quote it for a language model."
  (string-trim (or text "") "«" "»"))

(defun hunch--entries (bundle)
  "Return the entries of BUNDLE: ((ITEM . BODY)…), BODY the lines below it.
The n-th line of the Markdown that begins with \"- \" is the n-th item; what is
indented below it belongs to it."
  (let ((items (alist-get 'items bundle)) (entries nil))
    (dolist (line (split-string (alist-get 'context bundle) "\n"))
      (cond ((string-prefix-p "- " line)
             (push (list (pop items)) entries))
            ((and entries (string-prefix-p "    " line))
             (push (substring line 4) (cdar entries)))))
    (mapcar (lambda (each) (cons (car each) (nreverse (cdr each))))
            (cl-remove-if-not #'car (nreverse entries)))))

(defun hunch--topics (bundle)
  "Return the topics in BUNDLE that can be expanded."
  (when (string-match "^\\(.*\\) · `hunch expand TOPIC`" (alist-get 'context bundle))
    (split-string (match-string 1 (alist-get 'context bundle)) ", " t)))

(defun hunch--defined (line)
  "Return the name that a signature LINE defines, or nil."
  (when (string-match (rx (or (seq bow (or "def" "class" "fn" "func" "function" "struct" "type" "interface") (+ " ")
                                   (? "(" (* (not ")")) ") "))
                              (seq bol (* " ") (or "section: " "sections: ")))
                          (group (+ (or word "_"))))
                      line)
    (match-string 1 line)))

;; Rendering

(defun hunch--insert (text &optional face prefix)
  "Insert TEXT in FACE; its wrapped lines begin with PREFIX."
  (insert (propertize (replace-regexp-in-string "[\r\n]+" " " text)
                      'face (or face 'default) 'wrap-prefix (or prefix ""))))

(defun hunch--insert-verdict (item)
  "Insert the feedback for ITEM in this session, if any."
  (pcase (alist-get (alist-get 'id item) hunch--verdicts nil nil #'equal)
    ("cited" (hunch--insert "helpful · " 'success))
    ("wrong" (hunch--insert "not helpful · " 'warning))))

(defun hunch--fitting (path)
  "Shorten a long PATH at its beginning."
  (if (string-match "\\`.*?\\(/.\\{1,48\\}\\)\\'" path)
      (if (<= (length path) 49) path (concat "…" (match-string 1 path)))
    path))

(defun hunch--insert-entry (entry)
  "Insert ENTRY, (ITEM . BODY)."
  (let* ((item (car entry))
         (kind (alist-get 'kind item))
         (sign (cdr (assoc kind hunch--signs)))
         (reasons (string-join (alist-get 'reasons item) " · "))
         (from (point)))
    (hunch--insert (format "  %s " (or (car sign) "·")) (or (cadr sign) 'hunch-reason))
    (if (equal kind "file")
        (hunch--insert (hunch--fitting (alist-get 'title item)) 'hunch-file "    ")
      (hunch--insert (hunch--unquoted (alist-get 'title item)) nil "    "))
    (when (equal kind "file")
      (let ((chance (format "%.0f %%" (* 100 (alist-get 'score item)))))
        (insert (propertize " " 'display `(space :align-to (- right ,(1+ (length chance))))) chance)))
    (if (not sign)
        (progn (insert "  ") (hunch--insert-verdict item) (hunch--insert reasons 'hunch-reason "    "))
      (insert "\n      ")
      (hunch--insert-verdict item)
      (hunch--insert reasons 'hunch-reason "      "))
    (insert "\n")
    (put-text-property from (point) 'hunch-entry entry)
    (put-text-property from (1+ from) 'hunch-start t)
    (dolist (line (cdr entry))
      (let ((begin (point)))
        (hunch--insert (concat "      " line) 'hunch-code "        ")
        (insert "\n")
        (add-text-properties begin (point) `(hunch-entry ,entry hunch-line ,line))))))

(defun hunch--insert-topics (topics)
  "Insert TOPICS as links."
  (hunch--insert "\n Ask for more\n" 'hunch-section)
  (insert "\n    ")
  (dolist (topic topics)
    (let ((from (point)))
      (insert (propertize topic 'face 'link 'wrap-prefix "    " 'hunch-topic topic))
      (put-text-property from (1+ from) 'hunch-start t)
      (insert (propertize "  " 'wrap-prefix "    "))))
  (insert "\n"))

(defun hunch--insert-head (bundle)
  "Insert the subject, size and degradations of BUNDLE."
  (let ((context (alist-get 'context bundle)))
    (hunch--insert (concat " " (if (string-match "\\`# \\(.*?\\) · [0-9,]+ " context)
                                   (match-string 1 context)
                                 (file-name-nondirectory (or hunch--shown-file ""))))
                   'hunch-place)
    (insert "\n")
    (hunch--insert (format " %d of %d tokens" (alist-get 'token_count bundle) (alist-get 'budget bundle)) 'hunch-reason)
    (insert "\n")
    (when (equal (alist-get 'status bundle) "empty")
      (insert "\n Nothing relevant is known about this file yet.\n"))
    (dolist (note (alist-get 'degraded bundle))
      (hunch--insert (concat " " note) 'hunch-note " ")
      (insert "\n"))))

(provide 'hunch-drawing)
;;; hunch-drawing.el ends here
